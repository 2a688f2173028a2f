// Which kernels an operator runs: pipelines and metacommands get a label when they are made, and what the command list dispatches is noted.
//
// Where the label stands is private data of the pipeline or metacommand: it lives exactly as long as the object does, so that neither a cache of
// DirectML's nor an address that is used again can give a kernel another one's name, and objects of several devices do not meet.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hooks.h"
#include "json.h"
#include "options.h"
#include "windows_api.h"

/// One in a program. Used by the threads that execute requests; pipelines may be made on any thread meanwhile.
class Kernels {
public:
    /// Reads what replaces kernels (--replace-kernels), and makes the folder for bytecode (--dump-kernels). Throws protocol::Fault, which
    /// names the file.
    explicit Kernels(const Options& options);
    ~Kernels() { leave(); }

    /// From now on sees what this device makes, and what this list records. Both must stay until `leave`.
    void follow(ID3D12Device* device, ID3D12GraphicsCommandList* list);

    /// The classes of the device and of the list have their own methods again.
    void leave();

    enum class Lists { own, every };

    /// A request begins: nothing was dispatched yet, and no pipeline is set. What is dispatched is noted only if it is wanted, and recorded by the list
    /// that is followed, or by any list of its class.
    void begin(bool wanted, Lists lists = Lists::own);

    /// What this thread dispatches from now on belongs to initialization, or to execution.
    void initializes(bool is);

    /// What was dispatched since `begin` as the protocol's `paths`: execution, then initialization, then kernels that were not created.
    json::Array paths();

    /// The digests of the kernels that would be replaced, each with the digest of what replaces it. Empty where none is.
    json::Object replacements() const;

    // For the methods that stand in the place of D3D12's.

    struct Kernel {
        const std::string* label = nullptr;
        const std::string* replacement = nullptr;  // bytecode
    };
    using Groups = std::array<UINT, 3>;

    /// The kernel of this bytecode, which is dumped if that is wished.
    Kernel kernel(const D3D12_SHADER_BYTECODE& bytecode);
    /// A label that stays where it is.
    const std::string* label(std::string text);
    /// A device made what has this label, as `made`, or failed to.
    void created(void* device, const std::string* label, HRESULT result, void** made);
    /// A list sets a pipeline; null for none.
    void sets(void* list, ID3D12Object* pipeline);
    /// A list dispatches a metacommand, or the pipeline that is set where it is null.
    void dispatches(void* list, ID3D12Object* metacommand, const Groups* groups);

private:
    struct Path {
        const std::string* label;
        bool has_groups;
        Groups groups;
    };
    enum Part { execution, initialization, not_created, parts };

    bool follows(void* list) const;
    /// The same for all interfaces of the list that is followed.
    void* known_as(void* list) const;
    void note(Part part, const std::string* label, const Groups* groups);
    void dump(const std::string& digest, const D3D12_SHADER_BYTECODE& bytecode);

    std::map<std::string, std::string> replacements_;  // digest -> bytecode
    std::wstring dump_folder_;
    std::vector<void*> device_faces_, list_faces_;  // each object as the interfaces that it is known by
    std::atomic<bool> wanted_{false}, every_list_{false};
    std::map<void*, const std::string*> set_;  // by list, the label of the pipeline that is set
    std::vector<Path> noted_[parts];
    uint64_t dropped_ = 0;                  // beyond what an answer may have
    std::set<std::string> labels_, dumped_;  // whose elements stay where they are
    SRWLOCK noting_ = SRWLOCK_INIT;         // of all from set_ on
};
